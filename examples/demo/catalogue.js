// A catalogue of products in memory, searched over HTTP: what a Node service
// of this kind does.  Products, an inverted index and a cache of results are
// JavaScript objects; results come into the cache and leave it, so V8 collects
// several times a second, its old generation every half minute, and stops the
// program for that.
//
//	node catalogue.js --port N [--products N] [--cache N]
//
//	GET /search?q=words   the best ten products, as JSON
//	GET /health           200 once the index is built

'use strict';

const http = require('http');
const {PerformanceObserver} = require('perf_hooks');

const options = {port: 0, products: 60000, cache: 1500};
for (let i = 2; i + 1 < process.argv.length; i += 2)
	options[process.argv[i].slice(2)] = Number(process.argv[i + 1]);

// The same products in every process: a small generator, not Math.random.
let seed = 12345;
function random(below)
{
	seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
	return (seed >>> 8) % below;
}

const SYLLABLES = ['ba', 'ke', 'li', 'mo', 'nu', 'ra', 'se', 'ti', 'vo', 'wa'];
function word(n)
{
	return SYLLABLES[n % 10] + SYLLABLES[(n / 10 | 0) % 10] +
	    SYLLABLES[(n / 100 | 0) % 10] + SYLLABLES[(n / 1000 | 0) % 10];
}

const products = [];
const index = new Map(); // word -> [{product, weight}]
for (let id = 0; id < options.products; id++) {
	const product = {id, words: [], price: random(100000) / 100,
		attributes: {colour: word(random(50)), maker: word(random(200)),
			stock: random(500)}};

	for (let k = 0; k < 12; k++) {
		// Some words are much more frequent than others.
		const w = word(Math.min(random(3000), random(3000)));

		product.words.push(w);
		if (!index.has(w))
			index.set(w, []);
		index.get(w).push({product, weight: 1 / (k + 1)});
	}
	products.push(product);
}

// The results seen last; a Map keeps the order in which they came.
const cache = new Map();

function search(query)
{
	const scores = new Map();

	for (const w of query.split(' '))
		for (const {product, weight} of (index.get(w) || []))
			scores.set(product, (scores.get(product) || 0) + weight);
	const found = [...scores].sort((a, b) => b[1] - a[1]).slice(0, 400);
	return {query, total: scores.size, hits: found.map(([p, score]) => ({
		id: p.id, score, title: p.words.join(' '), price: p.price,
		attributes: {...p.attributes}, words: [...p.words]}))};
}

function answer(query)
{
	let result = cache.get(query);

	// A query that is asked again soon is rare: most are computed.
	if (result === undefined || random(4) > 0)
		result = search(query);
	cache.delete(query);
	cache.set(query, result);
	if (cache.size > options.cache)
		cache.delete(cache.keys().next().value);
	return JSON.stringify({...result, hits: result.hits.slice(0, 10)});
}

const collections = {count: 0, longest: 0, sum: 0};
new PerformanceObserver(list => {
	for (const e of list.getEntries()) {
		collections.count++;
		collections.sum += e.duration;
		collections.longest = Math.max(collections.longest, e.duration);
	}
}).observe({entryTypes: ['gc']});

const server = http.createServer((request, response) => {
	const begin = process.hrtime.bigint();
	const url = new URL(request.url, 'http://localhost');
	const words = url.searchParams.get('q') || '';
	const body = url.pathname === '/search' ? answer(words)
	    : url.pathname === '/health' ? '{}'
	    : url.pathname === '/collections' ? JSON.stringify(collections)
	    : '';
	const ms = Number(process.hrtime.bigint() - begin) / 1e6;

	response.writeHead(body !== '' ? 200 : 404, {
		'Content-Type': 'application/json',
		'Content-Length': Buffer.byteLength(body),
		'Server-Timing': `app;dur=${ms.toFixed(3)}`,
	});
	response.end(body);
});
server.keepAliveTimeout = 300000;
server.listen(options.port, '127.0.0.1');
