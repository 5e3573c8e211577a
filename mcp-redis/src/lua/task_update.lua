-- Replaces a task's record if its version is the one before. The expiry and the account stay. KEYS: the task, indexes. ARGV: base,
-- id, that version, the new version, the record, its place, its holder.
local id, place = ARGV[2], ARGV[6]
if redis.call('HGET', KEYS[1], 'v') ~= ARGV[3] then
    return 0
end
redis.call('HSET', KEYS[1], 'v', ARGV[4], 'r', ARGV[5])
local before, account, owner = read_meta(id)
if before and before ~= place then
    redis.call('HSET', META, id, place .. account .. owner)
    move(account, id, before, place)
end
hold(id, ARGV[7])
return 1
