-- Releases a lease if it is held by whoever releases it. KEYS: the lease. ARGV: the holder.
if redis.call('GET', KEYS[1]) == ARGV[1] then
    redis.call('DEL', KEYS[1])
end
return 1
