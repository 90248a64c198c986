import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Systems give the ports above to those who ask for any, and to outgoing connections (Linux: 32768, RFC 6335: 49152). */
const FIRST = 15_000;
const LAST = 32_767;
const ATTEMPTS = 100;

/** The next one to try. In turn from a random one: processes that draw each at random draw the same one now and then. */
let next = randomInt(FIRST, LAST + 1);

/**
 * A port of 127.0.0.1 that nobody listens on, for a process that is told its port before it starts, and for a server that goes
 * away and comes back. The system does not hand it out itself: the port of a closed `listen(0)` can be another's a
 * millisecond later, a server's or that of an outgoing connection.
 *
 * @returns a number from 15000 to 32767
 * @throws {Error} when 100 ports in turn are all in use
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = next;
    next = port === LAST ? FIRST : port + 1;
    if (await isPortFree(port)) return port;
  }
  throw new Error(`No free port in ${ATTEMPTS} attempts between ${FIRST} and ${LAST}.`);
}

/** Whether nobody of this machine listens on a port of 127.0.0.1. */
export async function isPortFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    // A worker of node:cluster would share a listener of another worker.
    await once(server.listen({ port, host: "127.0.0.1", exclusive: true }), "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
