import type { OpenStore } from "propylon/store";
import { NatsDriver } from "./driver.ts";
import { natsSettingsOf, type NatsOptions } from "./options.ts";

/** Opens the store of an address such as `nats://host:4222`; of several, with commas between. */
export const openNats: OpenStore = async (url, { folder, options, log }) => {
  const all = options as NatsOptions;
  return NatsDriver.open(natsSettingsOf(all, url, folder), all.prefix, log);
};
