-- Gives a lease to an applicant, if it is free, or held by the applicant or by the one it is to be taken from; returns its
-- holder. KEYS: the lease. ARGV: the applicant, the one it is to be taken from or '', the time to live in milliseconds.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] and holder ~= ARGV[2] then
    return holder
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return ARGV[1]
