import { GatewayError } from "propylon";

/** The client of Redis. */
export type RedisClient = import("ioredis").Redis;

/**
 * Imports the client when it is needed.
 * @throws {GatewayError} `invalid` when it is not installed
 */
export async function loadRedis(): Promise<typeof import("ioredis").Redis> {
  try {
    return (await import("ioredis")).Redis;
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw new GatewayError("invalid", "A store in Redis needs its client.", {
      hint: "Run: npm install ioredis",
      cause,
    });
  }
}
