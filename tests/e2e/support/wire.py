"""Messages that several tests send: an event stream's begin, a WebSocket's."""

# Its chunk is what a client reads of it: 9 bytes.
STREAM = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
          b"Transfer-Encoding: chunked\r\n\r\n4\r\n:hi\n\r\n")
UPGRADE = [("Connection", "Upgrade"), ("Upgrade", "websocket"),
           ("Sec-WebSocket-Version", "13"),
           ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")]
AGREED = (b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
          b"Upgrade: websocket\r\n"
          b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
