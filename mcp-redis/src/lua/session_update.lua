-- Replaces a session's record if its version is the one before. KEYS: the session. ARGV: that version, the new version, the
-- record, the time to live in milliseconds.
if redis.call('HGET', KEYS[1], 'v') ~= ARGV[1] then
    return 0
end
redis.call('HSET', KEYS[1], 'v', ARGV[2], 'r', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
