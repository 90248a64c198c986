import type { Pool as UndiciPool } from "undici";
// Past the package's index, which also loads fetch, caches, mocks and WebSocket: 46 ms and 9 MB of every start. undici has no
// `exports` map, so the path is reachable; a release that moves the file fails at the first import, in every test.
import DispatcherPool from "undici/lib/dispatcher/pool.js";

/** undici's connection pool, the only part of undici that is used. */
export const Pool: typeof UndiciPool = DispatcherPool;
export type Pool = UndiciPool;
