-- Creates a stream, or resets its expiry. KEYS: its head, its events. ARGV: the time to live in milliseconds, and for a
-- stream that is opened its head.
if redis.call('HSETNX', KEYS[1], 'after', '0') == 1 then
    redis.call('DEL', KEYS[2])
end
if ARGV[2] then
    redis.call('HSET', KEYS[1], 'head', ARGV[2])
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return 1
