-- The records of an owner's tasks. KEYS: the owner, indexes. ARGV: base.
local records = {}
for _, id in ipairs(redis.call('SMEMBERS', KEYS[1])) do
    local record = redis.call('HGET', base .. 'task:' .. id, 'r')
    if record then
        records[#records + 1] = id
        records[#records + 1] = record
    else
        -- Expired; if the index has lost the task, the owner has it still.
        remove(id)
        redis.call('SREM', KEYS[1], id)
    end
end
return records
