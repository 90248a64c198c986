/** h3 alone, serving one route: the floor for idle memory. */
import { H3, serve } from "h3";
import "./memory.mjs";

const app = new H3().get("/livez", () => ({ ok: true }));
const server = serve(app, { port: 0, hostname: "127.0.0.1", silent: true });
await server.ready();
process.send({ port: Number(new URL(server.url).port) });
