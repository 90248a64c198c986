import { definePlugin } from "propylon";

export default definePlugin({ name: "ratelimit", setup() {} });
