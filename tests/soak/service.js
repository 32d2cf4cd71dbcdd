/* See soak.py: node service.js PORT FOLDER. */
'use strict';
const fs = require('fs');
const http = require('http');
const [port, folder] = process.argv.slice(2);

function stream(response, count) {
	response.setHeader('Content-Type', 'text/event-stream');
	let i = 0;
	const timer = setInterval(() => {
		if (i < count)
			response.write(`data: ${i++}\n\n`);
		else
			response.end();
	}, 100);
	response.on('close', () => clearInterval(timer));
}

http.createServer((request, response) => {
	const url = new URL(request.url, 'http://host');
	if (url.pathname === '/echo')
		request.pipe(response);
	else if (url.pathname === '/stream')
		stream(response, Number(url.search.slice(1)));
	else
		fs.readFile(folder + url.pathname, (error, body) => {
			response.statusCode = error ? 404 : 200;
			response.end(body);
		});
}).listen(Number(port), '127.0.0.1', 511);
