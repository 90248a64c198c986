import { definePlugin } from "propylon";

export * from "./service.ts";
export type * from "./model.ts";

export default definePlugin({ name: "agents", setup() {} });
