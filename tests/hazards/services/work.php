<?php
// What Apache's mod_php does to a request; see kinds.py.

$block = 1 << 18;
$data = getenv('FOREIGN_DATA');

// This process's CPU time, ns: it has one thread.
function ran()
{
	$r = getrusage();
	return 1000 * (1000000 * ($r['ru_utime.tv_sec'] + $r['ru_stime.tv_sec'])
	    + $r['ru_utime.tv_usec'] + $r['ru_stime.tv_usec']);
}

$q = $_GET + ['ms' => 1, 'n' => 1, 'bytes' => 1];
$received = strlen(file_get_contents('php://input'));
$begin = hrtime(true);
$computed = ran();
$body = "done\n";
switch ($q['kind']) {
case 'none':
	break;
case 'sleep':
	usleep(1000 * $q['ms']);
	break;
case 'backoff':
	usleep(1000);
	usleep(8000);
	break;
// Of the same user's session only one request at a time has the file.
case 'session':
	session_save_path("$data/any");
	session_id($q['id']);
	session_start(['use_cookies' => 0, 'use_only_cookies' => 0,
	    'use_trans_sid' => 0]);
	usleep(1000 * $q['ms']);
	session_write_close();
	break;
case 'compute':
	$until = ran() + 1000000 * $q['ms'];
	while (ran() < $until)
		continue;
	break;
case 'cold':
	$file = fopen("$data/cold", 'rb');
	stream_set_read_buffer($file, 0);
	$blocks = intdiv(fstat($file)['size'], $block);
	for ($i = 0; $i < $q['n']; $i++) {
		fseek($file, random_int(0, $blocks - 1) * $block);
		fread($file, $block);
	}
	fclose($file);
	break;
case 'fsync':
	$file = fopen("$data/any/sync-" . getmypid(), 'wb');
	for ($i = 0; $i < $q['n']; $i++) {
		fwrite($file, str_repeat('x', 1 << 16));
		fsync($file);
	}
	fclose($file);
	break;
case 'upstream':
	$socket = fsockopen('127.0.0.1', (int)getenv('FOREIGN_UPSTREAM'));
	fwrite($socket, "GET /work?kind=sleep&ms={$q['ms']} HTTP/1.0\r\n\r\n");
	stream_get_contents($socket);
	fclose($socket);
	break;
case 'udp':
	$socket = stream_socket_client(
	    'udp://127.0.0.1:' . getenv('FOREIGN_SILENT'));
	stream_set_timeout($socket, 0, 1000 * $q['ms']);
	fwrite($socket, '?');
	fread($socket, 512);
	fclose($socket);
	break;
case 'big':
	$body = str_repeat('x', (int)$q['bytes']);
	break;
case 'upload':
	$body = "$received";
	break;
}
$end = hrtime(true);
$computed = ran() - $computed;
$pid = getmypid();
header("Truth: $begin $end $computed $pid $pid");
header('Content-Length: ' . strlen($body));
header('Content-Type: text/plain');
echo $body;
