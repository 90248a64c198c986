import { testOutages } from "../../fixtures/store-outages.ts";
import { freshPrefix, openDriver, startServer } from "./kit.ts";

const prefix = freshPrefix();
testOutages({
  signals: ["SIGTERM", "SIGKILL"],
  crashes: Number(process.env["STORE_CRASHES"] ?? 3),
  start: startServer,
  open: (server) => openDriver(server.url, prefix),
});
