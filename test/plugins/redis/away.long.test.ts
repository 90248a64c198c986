import { testOutages } from "../../fixtures/store-outages.ts";
import { freshPrefix, openDriver, startServer } from "./kit.ts";

const prefix = freshPrefix();
testOutages({
  signals: ["SIGTERM", "SIGKILL"],
  crashes: Number(process.env["STORE_CRASHES"] ?? 3),
  // By default the server answers before it writes, for up to two seconds, while the disk is busy.
  start: () => startServer({ appendfsync: "always" }),
  open: (server) => openDriver(server.url, prefix),
});
