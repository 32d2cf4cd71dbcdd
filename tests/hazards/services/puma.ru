# A rack application for Puma, whose threads serve; see kinds.py for what it
# does.
#
#	puma --bind tcp://127.0.0.1:PORT --threads 4:4 puma.ru

require 'rack'
require 'socket'

BLOCK = 1 << 18
PIECE = 'x' * (1 << 16)
DATA = ENV.fetch('FOREIGN_DATA')
UPSTREAM = ENV.fetch('FOREIGN_UPSTREAM').to_i
SILENT = ENV.fetch('FOREIGN_SILENT').to_i
LOCK = Mutex.new
HEAP = [] # rubocop:disable Style/MutableConstant

def clock
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

def ran
  Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
end

def compute(query)
  finish = ran + query['ms'] * 1_000_000
  nil while ran < finish
end

# A thread takes the lock and sleeps or computes; it has it on return.
def hold(query)
  taken = Queue.new
  Thread.new do
    LOCK.synchronize do
      taken.push(true)
      query['how'] == 'compute' ? compute(query) : sleep(query['ms'] / 1e3)
    end
  end
  taken.pop
end

# Threads compute from now on; one at a time, and no others meanwhile.
def spin(query)
  query['n'].times { Thread.new { compute(query) } }
end

def cold(query)
  File.open("#{DATA}/cold") do |file|
    blocks = file.size / BLOCK
    query['n'].times { file.pread(BLOCK, rand(blocks) * BLOCK) }
  end
end

def fsync(query)
  File.open("#{DATA}/sync-#{Process.pid}", 'w') do |file|
    query['n'].times do
      file.syswrite(PIECE)
      file.fsync
    end
  end
end

def upstream(query)
  TCPSocket.open('127.0.0.1', UPSTREAM) do |socket|
    socket.write("GET /work?kind=sleep&ms=#{query['ms']} HTTP/1.0\r\n\r\n")
    socket.read
  end
end

# Wait for a response that does not come.
def udp(query)
  socket = UDPSocket.new
  socket.send('?', 0, '127.0.0.1', SILENT)
  socket.wait_readable(query['ms'] / 1e3)
  socket.close
end

def collect(query)
  HEAP << [HEAP.size] while HEAP.size < query['n']
  GC.start
end

KINDS = {
  'none' => ->(_) {},
  'sleep' => ->(query) { sleep(query['ms'] / 1e3) },
  'backoff' => ->(_) { [1, 8].each { |ms| sleep(ms / 1e3) } },
  'take' => ->(_) { LOCK.synchronize {} },
  'compute' => method(:compute), 'hold' => method(:hold),
  'spin' => method(:spin),
  'cold' => method(:cold), 'fsync' => method(:fsync),
  'upstream' => method(:upstream), 'udp' => method(:udp),
  'collect' => method(:collect)
}.freeze

run(lambda do |env|
  query = Rack::Utils.parse_query(env['QUERY_STRING'])
  %w[ms n bytes].each { |name| query[name] = query.fetch(name, 1).to_i }
  body = env['rack.input'].read
  from = clock
  computed = ran
  case query['kind']
  when 'big' then body = 'x' * query['bytes']
  when 'upload' then body = body.bytesize.to_s
  else
    KINDS.fetch(query['kind']).call(query)
    body = "done\n"
  end
  finish = clock
  computed = ran - computed
  truth = [from, finish, computed, Process.pid, Thread.current.native_thread_id]
  [200, { 'Truth' => truth.join(' '),
          'Content-Length' => body.bytesize.to_s }, [body]]
end)
