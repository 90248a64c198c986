import { definePlugin } from "propylon";

export * from "./service.ts";

export default definePlugin({ name: "payloads", setup() {} });
