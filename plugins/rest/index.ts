import { definePlugin } from "propylon";
import { Files, ServerTypes } from "propylon/kit";
import { locate } from "./texts.ts";
import { apiOptions, type ApiOptions } from "./options.ts";
import { ApiServer } from "./server.ts";

/** REST APIs behind the gateway: an entry of `servers` with `type: openapi` is a server whose tools are the API's operations. */
export default definePlugin({
  name: "rest",
  serverTypes: { openapi: apiOptions },
  inject: { files: Files },
  setup(gateway) {
    const { log, services } = gateway;
    gateway.add(ServerTypes, {
      type: "openapi",
      create: (name, options: ApiOptions, catalogue) =>
        new ApiServer({
          name,
          options,
          location: locate(options.spec, services.files.folder),
          log,
          catalogue,
        }),
    });
  },
});
