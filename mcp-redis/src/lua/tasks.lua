-- What the scripts of tasks share. All keys of tasks begin with `base`, ARGV[1]. Hashes of ids have 43 letters.
--   task:ID        a hash: `v` is the version, `r` the record, `h` the holder; expires with the task
--   expiry         a sorted set of ids by their expiry; its size is the number of tasks
--   meta           a hash: the place, account and owner of each id, and at `finished` the number of finished tasks
--   account:NAME   the places of an account's tasks with their ids; the task that is evicted next is first
--   ranking        the rank and name of each account with finished tasks; the one that loses the next task is last
--   owner:NAME     the ids of an owner's tasks
--   held:HOLDER    the ids of the tasks that somebody holds; `h` of a task is its holder
--   holders        everybody who holds a task
-- A holder is '+' and a name, which is empty for a task that waits for a replica.
-- A place is a class (0 spent, 1 finished, 2 running) and the time of the creation in 15 digits. The members of `account`
-- and `ranking` all have the score 0, so that they are in the order of their bytes.
local base = ARGV[1]
local EXPIRY, META, RANKING, HOLDERS = base .. 'expiry', base .. 'meta', base .. 'ranking', base .. 'holders'
local PLACE, HASH = 16, 43
-- The most expired tasks removed at once.
local BATCH = 1000

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function account_key(account)
    return base .. 'account:' .. account
end

-- The task of an account that is evicted next: its place and its id.
local function next_of(account)
    local first = redis.call('ZRANGE', account_key(account), 0, 0)[1]
    if first and string.sub(first, 1, 1) < '2' then
        return string.sub(first, 1, PLACE), string.sub(first, PLACE + 1)
    end
end

-- Whether the next task of an account is spent, how many tasks it has, and how old the next one is.
local function rank_of(account)
    local place = next_of(account)
    if place then
        local spent = string.sub(place, 1, 1) == '0' and '1' or '0'
        local count = redis.call('ZCARD', account_key(account))
        local age = 999999999999999 - tonumber(string.sub(place, 2))
        return spent .. string.format('%012d%015.0f', count, age) .. account
    end
end

-- Lets a key live as long as the longest task; for a day if somebody removed the index that knows.
local function keep(key)
    local longest = redis.call('PTTL', EXPIRY)
    if longest < 0 then
        longest = 86400000
    end
    if redis.call('PTTL', key) < longest then
        redis.call('PEXPIRE', key, longest)
    end
end

local function count_finished(place, change)
    if place and string.sub(place, 1, 1) < '2' then
        redis.call('HINCRBY', META, 'finished', change)
    end
end

-- Moves a task of an account from a place to another; either may be missing. Adds first: an empty key would lose its
-- expiry.
local function move(account, id, from, to)
    local before = rank_of(account)
    if to then
        redis.call('ZADD', account_key(account), 0, to .. id)
        keep(account_key(account))
    end
    if from then
        redis.call('ZREM', account_key(account), from .. id)
    end
    count_finished(to, 1)
    count_finished(from, -1)
    local after = rank_of(account)
    if before ~= after then
        if after then
            redis.call('ZADD', RANKING, 0, after)
            keep(RANKING)
        end
        if before then
            redis.call('ZREM', RANKING, before)
        end
    end
end

local function read_meta(id)
    local meta = redis.call('HGET', META, id)
    if meta then
        local account = string.sub(meta, PLACE + 1, PLACE + HASH)
        return string.sub(meta, 1, PLACE), account, string.sub(meta, PLACE + HASH + 1)
    end
end

-- Makes somebody the holder of a task; nobody, if it is ''.
local function hold(id, holder)
    local task = base .. 'task:' .. id
    local before = redis.call('HGET', task, 'h') or ''
    if before == holder then
        return
    end
    if holder ~= '' then
        redis.call('HSET', task, 'h', holder)
        redis.call('SADD', base .. 'held:' .. holder, id)
        keep(base .. 'held:' .. holder)
        redis.call('SADD', HOLDERS, holder)
        keep(HOLDERS)
    else
        redis.call('HDEL', task, 'h')
    end
    if before ~= '' then
        redis.call('SREM', base .. 'held:' .. before, id)
        if redis.call('EXISTS', base .. 'held:' .. before) == 0 then
            redis.call('SREM', HOLDERS, before)
        end
    end
end

local function remove(id)
    hold(id, '')
    redis.call('DEL', base .. 'task:' .. id)
    redis.call('ZREM', EXPIRY, id)
    local place, account, owner = read_meta(id)
    if place then
        move(account, id, place, nil)
        redis.call('SREM', base .. 'owner:' .. owner, id)
        redis.call('HDEL', META, id)
    end
end

-- Removes what is left of expired tasks, and returns of how many.
local function remove_expired()
    local expired = redis.call('ZRANGEBYSCORE', EXPIRY, '-inf', string.format('%.0f', now), 'LIMIT', 0, BATCH)
    for _, id in ipairs(expired) do
        remove(id)
    end
    return #expired
end
