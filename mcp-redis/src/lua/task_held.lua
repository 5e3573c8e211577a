-- Some of the tasks that somebody holds: ids and records. KEYS: the ids, indexes. ARGV: base, holder, the most.
local records, holder = {}, ARGV[2]
-- Random ones: several replicas look for tasks of the same holder.
for _, id in ipairs(redis.call('SRANDMEMBER', KEYS[1], ARGV[3])) do
    local task = redis.call('HMGET', base .. 'task:' .. id, 'r', 'h')
    if task[1] and task[2] == holder then
        records[#records + 1] = id
        records[#records + 1] = task[1]
    else
        -- Expired.
        redis.call('SREM', KEYS[1], id)
    end
end
if redis.call('EXISTS', KEYS[1]) == 0 then
    redis.call('SREM', HOLDERS, holder)
end
return records
