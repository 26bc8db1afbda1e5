import { createHash } from "node:crypto"

/** A script that Redis runs atomically, on records and the index of their shard, all in one hash slot. */
export interface Script {
  readonly lua: string
  readonly sha: string
}

const script = (lua: string): Script => ({ lua, sha: createHash("sha1").update(lua).digest("hex") })

// An index never has a later time than the record: `replace` leaves the index alone when an expiry moves away, as
// each refresh does, and `sweep` corrects it.

const insertOne = `
local function insert(record, shard, path, value, due, lifetime)
  redis.call('ZADD', shard, due, path)
  if lifetime == '0' then
    redis.call('SET', record, value)
  else
    redis.call('SET', record, value, 'PX', lifetime)
  end
end
`

/**
 * Keys: record, shard, and the owner's list where a script may name keys of several slots. Arguments: path, value, due,
 * lifetime in ms ("0" for none), and the list's line.
 */
export const insertScript = script(`${insertOne}
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
if KEYS[3] then redis.call('ZADD', KEYS[3], 0, ARGV[5]) end
insert(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4])
return 1
`)

const replaceOne = `
local function replace(record, shard, expected, expires, lifetime, body)
  local stored = redis.pcall('GET', record)
  if not stored then return '0' end
  if type(stored) ~= 'string' then return 'E', stored.err end
  local version, ends, rest = string.match(stored, '^1 (%d+) (%S+) ([^\\n]*\\n)')
  if version ~= expected then return '0' end
  if expires ~= '-' and tonumber(expires) < (tonumber(ends) or math.huge) then
    local added = redis.pcall('ZADD', shard, expires, string.sub(record, #shard + 2))
    if type(added) ~= 'number' then return 'E', added.err end
  end
  local value = '1 ' .. string.format('%.0f', version + 1) .. ' ' .. expires .. ' ' .. rest .. body
  if lifetime == '0' then
    redis.call('SET', record, value)
  else
    redis.call('SET', record, value, 'PX', lifetime)
  end
  return '1'
end
`

/**
 * Keys: a record and its shard, for each record. Arguments: expected version, expiresAt ("-" for never), lifetime in
 * ms, body, for each. Answers a letter for each: 1 replaced, 0 conflict, E another error. An error of one record must
 * not stop the others, so nothing here may raise. A server that refuses writes raises its own error, but only before
 * the first write.
 */
export const replaceScript = script(`${replaceOne}
local done = {}
local written = false
for key = 1, #KEYS, 2 do
  local at = key * 2 - 1
  local letter, refusal =
    replace(KEYS[key], KEYS[key + 1], ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
  if refusal and not written and not string.find(refusal, '^WRONGTYPE') then return { err = refusal } end
  written = written or letter == '1'
  done[#done + 1] = letter
end
return table.concat(done)
`)

/**
 * Keys: record and shard of each that is new, then of the one to replace, then the lists of the new ones. Arguments: what
 * an insert takes for each that is new, then what a replacement takes. Answers a letter for each that is new: 1 inserted,
 * 0 there before; only where none was is anything written, and the letter of the replacement follows.
 */
export const insertAndReplaceScript = script(`${insertOne}${replaceOne}
local new = (#KEYS - 2) / 3
local there = {}
local taken = false
for n = 1, new do
  local found = redis.call('EXISTS', KEYS[n * 2 - 1]) == 1
  taken = taken or found
  there[n] = found and '0' or '-'
end
if taken then return table.concat(there) end
for n = 1, new do
  local at = n * 5 - 4
  redis.call('ZADD', KEYS[new * 2 + 2 + n], 0, ARGV[at + 4])
  insert(KEYS[n * 2 - 1], KEYS[n * 2], ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
end
local at = new * 5 + 1
local letter = replace(KEYS[new * 2 + 1], KEYS[new * 2 + 2], ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
return string.rep('1', new) .. letter
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
 * Keys: shard, records. Arguments: before, the records' paths. Answers a path and a first line for each removed
 * record. A missing record leaves the index; a prolonged one gets its real time. A full server refuses that where it is a
 * script's first write, so the first one, of a member that no index has, only takes something away.
 */
export const sweepScript = script(`
redis.call('ZREM', KEYS[1], '')
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

export const allScripts: ReadonlyArray<Script> = [
  insertScript,
  replaceScript,
  insertAndReplaceScript,
  removeScript,
  sweepScript
]
