import { createHash } from "node:crypto"

/** What the server does in one step. Each touches the record and the index of its shard, which are in one hash slot. */
export interface Script {
  readonly lua: string
  readonly sha: string
}

const script = (lua: string): Script => ({ lua, sha: createHash("sha1").update(lua).digest("hex") })

// In all of them an index never says a later time than the record does: `replace` leaves it behind when a record's end
// moves away (which is what a refresh does), and `sweep` catches up when it meets the record.

/** Keys: record, shard. Arguments: path, value, due, lifetime in ms ("0" for none). */
export const insertScript = script(`
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
if ARGV[4] == '0' then
  redis.call('SET', KEYS[1], ARGV[2])
else
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[4])
end
return 1
`)

/** Keys: record, shard. Arguments: path, expected version, expiresAt ("-" for never), lifetime in ms, body. */
export const replaceScript = script(`
local stored = redis.call('GET', KEYS[1])
if not stored then return 0 end
local version, expires, rest = string.match(stored, '^1 (%d+) (%S+) ([^\\n]*)\\n')
if version ~= ARGV[2] then return 0 end
if ARGV[3] ~= '-' and (expires == '-' or tonumber(ARGV[3]) < tonumber(expires)) then
  redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
end
local value = string.format('1 %.0f %s %s\\n', version + 1, ARGV[3], rest) .. ARGV[5]
if ARGV[4] == '0' then
  redis.call('SET', KEYS[1], value)
else
  redis.call('SET', KEYS[1], value, 'PX', ARGV[4])
end
return 1
`)

/** Keys: record, shard. Arguments: path. Answers the record's first line, or nothing. */
export const removeScript = script(`
local stored = redis.call('GET', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
if not stored then return false end
redis.call('DEL', KEYS[1])
return string.match(stored, '^[^\\n]*')
`)

/**
 * Keys: shard, records. Arguments: before, the records' paths. Answers a path and a first line for each record that
 * was removed. What is gone already leaves the index, what lives longer than the index said moves to its real time.
 */
export const sweepScript = script(`
local removed = {}
for i = 2, #KEYS do
  local stored = redis.call('GET', KEYS[i])
  if not stored then
    redis.call('ZREM', KEYS[1], ARGV[i])
  else
    local expires = string.match(stored, '^1 %d+ (%S+) ')
    if not expires or expires == '-' then
      redis.call('ZADD', KEYS[1], '+inf', ARGV[i])
    elseif tonumber(expires) > tonumber(ARGV[1]) then
      redis.call('ZADD', KEYS[1], expires, ARGV[i])
    else
      redis.call('DEL', KEYS[i])
      redis.call('ZREM', KEYS[1], ARGV[i])
      removed[#removed + 1] = ARGV[i]
      removed[#removed + 1] = string.match(stored, '^[^\\n]*')
    end
  end
end
return removed
`)

export const allScripts: ReadonlyArray<Script> = [insertScript, replaceScript, removeScript, sweepScript]
