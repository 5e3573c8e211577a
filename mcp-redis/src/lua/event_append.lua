-- Appends an event, and discards those before the oldest to be kept. KEYS: the stream's head, its events. ARGV: the event's
-- number, the event, the oldest number, the channel of the stream. `after` is the number after which no event was discarded.
local after = redis.call('HGET', KEYS[1], 'after')
if not after then
    return 0
end
local added = redis.pcall('XADD', KEYS[2], 'MINID', '=', ARGV[3], ARGV[1] .. '-0', 'd', ARGV[2])
if type(added) == 'table' and added.err then
    -- A repetition: its first reply was lost.
    if string.find(added.err, 'equal or smaller', 1, true) then
        return 0
    end
    return added
end
local oldest = tonumber(ARGV[3])
if oldest > tonumber(after) + 1 then
    redis.call('HSET', KEYS[1], 'after', string.format('%.0f', oldest - 1))
end
if redis.call('PTTL', KEYS[2]) < 0 then
    redis.call('PEXPIRE', KEYS[2], redis.call('PTTL', KEYS[1]))
end
redis.call('PUBLISH', ARGV[4], '')
return 1
