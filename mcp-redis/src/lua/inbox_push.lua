-- Adds a message to an inbox, and drops the oldest that are too many. KEYS: the messages, their bytes. ARGV: the message, its
-- bytes, the time to live in milliseconds, the messages and the bytes to keep at most. Returns the id of the message: the
-- time, so that ids increase even when the inbox has expired meanwhile.
local id = redis.call('XADD', KEYS[1], '*', 'd', ARGV[1], 'n', ARGV[2])
local bytes = redis.call('INCRBY', KEYS[2], ARGV[2])
local count = redis.call('XLEN', KEYS[1])
while count > tonumber(ARGV[4]) or (bytes > tonumber(ARGV[5]) and count > 1) do
    local oldest = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
    redis.call('XDEL', KEYS[1], oldest[1])
    bytes = redis.call('DECRBY', KEYS[2], oldest[2][4])
    count = count - 1
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return id
