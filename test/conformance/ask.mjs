// @ts-check
// What the suite starts as its client. It has one of clients.mjs do the work: to load a gateway for each scenario would be most of it.
import { once } from "node:events";
import { request } from "node:http";
import { text } from "node:stream/consumers";

const [, , host = "", url] = process.argv;
const { MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_CONTEXT: context = "{}" } = process.env;
const asked = request(host, { method: "POST" });
asked.end(JSON.stringify({ scenario, url, context: JSON.parse(context) }));
/** @type {[import("node:http").IncomingMessage]} */
const [answer] = /** @type {any} */ (await once(asked, "response"));
const said = await text(answer);
if (answer.statusCode !== 200) throw new Error(said);
