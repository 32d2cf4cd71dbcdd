/*
 * node.js: Node's HTTP server; see kinds.py for what it does.
 *
 *	node --expose-gc node.js PORT [WORKERS]
 *
 * With WORKERS it is a cluster: the first process accepts and hands each
 * connection to one of so many others.
 */
'use strict';
const childProcess = require('child_process');
const cluster = require('cluster');
const crypto = require('crypto');
const dgram = require('dgram');
const fs = require('fs');
const http = require('http');

const PAGE = 4096;
const BLOCK = 1 << 18;
const PIECE = Buffer.alloc(1 << 16);
const { FOREIGN_DATA, FOREIGN_UPSTREAM, FOREIGN_SILENT } = process.env;
const heap = [];

function ranUs() {
	const { user, system } = process.cpuUsage();
	return user + system;
}

const kinds = {
	none() {},

	sleep: (q) => new Promise((done) => setTimeout(done, q.ms)),

	/* The process has no other thread that computes meanwhile. */
	compute(q) {
		const end = ranUs() + q.ms * 1000;
		while (ranUs() < end)
			for (let i = 0; i < 1000; i++);
	},

	/* By libuv's threads, as is usual. */
	async cold(q) {
		const file = await fs.promises.open(`${FOREIGN_DATA}/cold`);
		const blocks = Math.floor((await file.stat()).size / BLOCK);
		const buffer = Buffer.alloc(BLOCK);
		for (let i = 0; i < q.n; i++)
			await file.read(buffer, 0, BLOCK,
			    Math.floor(Math.random() * blocks) * BLOCK);
		await file.close();
	},

	async fsync(q) {
		const file = await fs.promises.open(
		    `${FOREIGN_DATA}/sync-${process.pid}`, 'w');
		for (let i = 0; i < q.n; i++) {
			await file.write(PIECE);
			await file.sync();
		}
		await file.close();
	},

	upstream: (q) => new Promise((done, failed) => http.get(
	    `http://127.0.0.1:${FOREIGN_UPSTREAM}/work?kind=sleep&ms=${q.ms}`,
	    { agent: false }, (response) => {
		    response.resume();
		    response.on('end', done);
	    }).on('error', failed)),

	udp: (q) => new Promise((done) => {
		const socket = dgram.createSocket('udp4');
		socket.send('?', Number(FOREIGN_SILENT), '127.0.0.1');
		setTimeout(() => { socket.close(); done(); }, q.ms);
	}),

	/* One of libuv's threads computes. */
	scrypt: (q) => new Promise((done) => crypto.scrypt(
	    'password', 'salt', 64, { N: q.n }, done)),

	async stat() {
		await fs.promises.stat(FOREIGN_DATA);
	},

	/* Another process counts so far. */
	child: (q) => new Promise((done) => childProcess.exec(
	    `i=0; while [ $i -lt ${q.n} ]; do i=$((i + 1)); done`, done)),

	collect(q) {
		while (heap.length < q.n)
			heap.push({ number: heap.length });
		global.gc();
	},

	/* Memory of its own mapping, touched for the first time. */
	touch(q) {
		const begin = process.hrtime.bigint();
		const buffer = Buffer.allocUnsafeSlow(q.n * PAGE).fill(1);
		const end = process.hrtime.bigint();
		buffer.fill(2);
		return [begin, end, process.hrtime.bigint() - end];
	},
};

async function work(q, posted) {
	if (q.kind === 'big')
		return { body: Buffer.alloc(q.bytes, 'x') };
	if (q.kind === 'upload')
		return { body: `${posted.length}` };
	if (q.kind === 'echo')
		return { body: posted };
	if (q.kind === 'file')
		return { body: await fs.promises.readFile(
		    `${FOREIGN_DATA}/${q.name}`) };
	return { body: 'done\n', twice: await kinds[q.kind](q) };
}

function stream(response, count) {
	let i = 0;
	const timer = setInterval(() => {
		if (i < count)
			response.write(`data: ${i++}\n\n`);
		else
			response.end();
	}, 100);
	response.on('close', () => clearInterval(timer));
}

async function serve(request, response) {
	const url = new URL(request.url, 'http://host');
	const q = { kind: url.searchParams.get('kind') || 'none',
		name: url.searchParams.get('name') };
	const pieces = [];
	for (const name of ['ms', 'n', 'bytes'])
		q[name] = Number(url.searchParams.get(name) || 1);
	for await (const piece of request)
		pieces.push(piece);
	if (q.kind === 'stream') {
		stream(response, q.n);
		return;
	}
	let begin = process.hrtime.bigint(), ran = ranUs();
	const { body, twice } = await work(q, Buffer.concat(pieces));
	let end = process.hrtime.bigint(), cpu = (ranUs() - ran) * 1000;
	if (twice)
		[begin, end, cpu] = twice;
	response.setHeader('Truth', `${begin} ${end} ${cpu} ` +
	    `${process.pid} ${process.pid}`);
	response.setHeader('Content-Length', Buffer.byteLength(body));
	response.end(body);
}

const [port, workers] = process.argv.slice(2).map(Number);
if (workers && cluster.isPrimary)
	for (let i = 0; i < workers; i++)
		cluster.fork();
else
	http.createServer(serve).listen(port, '127.0.0.1', 128);
