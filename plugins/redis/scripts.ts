/**
 * Revisions and places rise by one counter each. One that begins, perhaps again after the server lost its data, begins at the time
 * in microseconds: what gateways remember from earlier is lower.
 */
const NEXT = `
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function nextOf(counter)
  local number = redis.call("INCR", counter)
  if number == 1 then
    number = time[1] * 1000000 + time[2]
    redis.call("SET", counter, string.format("%.0f", number))
  end
  return string.format("%.0f", number)
end
`;

/** Time is the server's alone: gateways say how long something stays, not until when. */
const texts = {
  /** value, index, ends, counter; key, member, channel, text, ttl or "", revision asked for or "" */
  put: {
    keys: 4,
    lua: `${NEXT}
      local asked = ARGV[6]
      if asked ~= "" and asked ~= (redis.call("HGET", KEYS[1], "r") or "0") then return false end
      local rev = nextOf(KEYS[4])
      redis.call("DEL", KEYS[1])
      redis.call("ZREM", KEYS[3], ARGV[2])
      local ttl = tonumber(ARGV[5])
      if ttl and ttl <= 0 then
        redis.call("ZREM", KEYS[2], ARGV[1])
      else
        redis.call("HSET", KEYS[1], "r", rev, "v", ARGV[4])
        redis.call("ZADD", KEYS[2], 0, ARGV[1])
        if ttl then
          redis.call("PEXPIRE", KEYS[1], ttl)
          redis.call("ZADD", KEYS[3], now + ttl, ARGV[2])
        end
      end
      redis.call("PUBLISH", ARGV[3], ARGV[1])
      return rev`,
  },
  /** value, index, ends; key, member, channel, revision asked for or "" */
  remove: {
    keys: 3,
    lua: `
      local rev = redis.call("HGET", KEYS[1], "r")
      if not rev or (ARGV[4] ~= "" and ARGV[4] ~= rev) then return 0 end
      redis.call("DEL", KEYS[1])
      redis.call("ZREM", KEYS[2], ARGV[1])
      redis.call("ZREM", KEYS[3], ARGV[2])
      redis.call("PUBLISH", ARGV[3], ARGV[1])
      return 1`,
  },
  /** index; lowest, highest, limit, what is in front of the names of values. Of one that ended comes the key alone. */
  list: {
    keys: 1,
    lua: `
      local keys = redis.call("ZRANGEBYLEX", KEYS[1], ARGV[1], ARGV[2], "LIMIT", 0, ARGV[3])
      local found = {}
      for index, key in ipairs(keys) do
        local value = redis.call("HMGET", ARGV[4] .. key, "r", "v")
        found[index] = { key, value[1], value[2] }
      end
      return found`,
  },
  /** ends; limit, in front of values, in front of indexes, in front of channels */
  sweep: {
    keys: 1,
    lua: `${NEXT}
      local ended = redis.call("ZRANGEBYSCORE", KEYS[1], "-inf", now, "LIMIT", 0, ARGV[1])
      for _, member in ipairs(ended) do
        local bucket, key = string.match(member, "^(%S+) (%S+)$")
        if redis.call("EXISTS", ARGV[2] .. bucket .. ":" .. key) == 0 then
          redis.call("ZREM", ARGV[3] .. bucket, key)
          redis.call("PUBLISH", ARGV[4] .. bucket, key)
        end
        redis.call("ZREM", KEYS[1], member)
      end
      return #ended`,
  },
  /** log, counter; channel, texts */
  appendAll: {
    keys: 2,
    lua: `${NEXT}
      local seq
      for index = 2, #ARGV do
        seq = nextOf(KEYS[2])
        redis.call("XADD", KEYS[1], seq .. "-0", "v", ARGV[index], "t", string.format("%.0f", now))
      end
      redis.call("PUBLISH", ARGV[1], "")
      return seq`,
  },
  /** log; how many stay, for how many milliseconds or "", most that go at once */
  trim: {
    keys: 1,
    lua: `${NEXT}
      local surplus = redis.call("XLEN", KEYS[1]) - ARGV[1]
      local dropped = 0
      for index, entry in ipairs(redis.call("XRANGE", KEYS[1], "-", "+", "COUNT", ARGV[3])) do
        local isOld = ARGV[2] ~= "" and tonumber(entry[2][4]) < now - ARGV[2]
        if index > surplus and not isOld then break end
        dropped = dropped + redis.call("XDEL", KEYS[1], entry[1])
      end
      return dropped`,
  },
} as const;

/** The scripts as `ioredis` takes them; each runs whole, and nothing between its lines. */
export const scripts = Object.fromEntries(
  Object.entries(texts).map(([name, { keys, lua }]) => [name, { numberOfKeys: keys, lua }]),
);

type Words = readonly (string | number)[];

/** The commands that the scripts are. */
export interface ScriptedCommands {
  put(...words: Words): Promise<string | null>;
  remove(...words: Words): Promise<number>;
  list(...words: Words): Promise<[key: string, rev: string | null, value: string | null][]>;
  sweep(...words: Words): Promise<number>;
  appendAll(...words: Words): Promise<string>;
  trim(...words: Words): Promise<number>;
}
