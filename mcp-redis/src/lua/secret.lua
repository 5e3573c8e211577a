-- The secret of a name: the one there is, or the proposed one from now on. KEYS: the secret. ARGV: the proposal.
redis.call('SET', KEYS[1], ARGV[1], 'NX')
return redis.call('GET', KEYS[1])
