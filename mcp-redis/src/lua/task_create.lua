-- Stores a task if the quota leaves room for it, as `TaskQuota::make_room` describes. KEYS: the task, indexes. ARGV: base, id,
-- version, record, place, account, owner, time to live in milliseconds, limit of all tasks, limit of the account or '',
-- holder.
local id, place, account, owner, ttl = ARGV[2], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local total = tonumber(ARGV[9])
local per_account = tonumber(ARGV[10]) or math.huge

repeat until remove_expired() < BATCH
-- A repetition: its first reply was lost.
remove(id)

-- How many have to go: of this account, and then of all. Nothing is evicted for a task that is refused.
local own = redis.call('ZCARD', account_key(account))
local evict_own = math.max(0, own - per_account + 1)
if evict_own > redis.call('ZLEXCOUNT', account_key(account), '-', '(2') then
    return 'account'
end
local evict_any = math.max(0, redis.call('ZCARD', EXPIRY) - evict_own - total + 1)
if evict_own + evict_any > tonumber(redis.call('HGET', META, 'finished') or '0') then
    return 'total'
end
for _ = 1, evict_own do
    local _, evicted = next_of(account)
    remove(evicted)
end
for _ = 1, evict_any do
    local greediest = redis.call('ZRANGE', RANKING, -1, -1)[1]
    local _, evicted = next_of(string.sub(greediest or '', 29))
    if not evicted then
        -- Somebody removed a part of the indexes. They are complete again when the tasks of today have expired.
        return 'total'
    end
    remove(evicted)
end

redis.call('HSET', KEYS[1], 'v', ARGV[3], 'r', ARGV[4])
redis.call('PEXPIRE', KEYS[1], ttl)
redis.call('ZADD', EXPIRY, string.format('%.0f', now + tonumber(ttl)), id)
if redis.call('PTTL', EXPIRY) < tonumber(ttl) then
    redis.call('PEXPIRE', EXPIRY, ttl)
end
redis.call('HSET', META, id, place .. account .. owner)
keep(META)
redis.call('SADD', base .. 'owner:' .. owner, id)
keep(base .. 'owner:' .. owner)
move(account, id, nil, place)
hold(id, ARGV[11])
return 'created'
