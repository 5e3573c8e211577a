-- Marks a stream as complete. KEYS: its head. ARGV: its channel.
if redis.call('EXISTS', KEYS[1]) == 1 then
    redis.call('HSET', KEYS[1], 'closed', '1')
    redis.call('PUBLISH', ARGV[1], '')
end
return 1
