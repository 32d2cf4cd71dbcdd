"""What all tests with real programs are made of.

wait           waiting for a condition, always with a limit
ports          free TCP ports, and whether something listens at an address
process        a program that runs under watch and is ended by its process id
tailor         a running tailor and its configuration
message        HTTP/1.1 messages and a strict reader of them
client         a connection that sends any bytes and reads responses strictly
wire           a client's connection that misbehaves, and notices how it ended
crowd          clients that ask all the while something happens to a tailor
origin         a scripted server: it does what the test says, when it says it
suite          what the programs of suites have: options, a directory, TAP
stub           a server that does one thing at a time, for tailor-load
other_proxies  nginx and HAProxy
cgroup         a control group: CPU quota and freezer
stage          a tailor before servers that are disturbed, and what disturbs
injector       injects a hazard many times, and judges each
verdicts       what a tale reports against what was injected
safepoints     a JVM's own log of them

tests/e2e, chaos, pauses, hazards, soak, faults and bench import it as `rig`; a
program of theirs puts tests/ on its path for that.
"""
