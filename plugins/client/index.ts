import { definePlugin } from "propylon";
import { commands } from "./commands.ts";

export { type ClientGuide, clientGuides, offersLogin } from "./client-guides.ts";
export { countQuestion, kindOfQuestion, PERSON_CAPABILITIES, toPersonResult } from "./person.ts";

/** A client for running gateways, and what other clients are set up with, from the command line alone: a gateway does without it. */
export default definePlugin({
  name: "client",
  commands,
  setup() {},
});
