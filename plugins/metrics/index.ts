import { definePlugin } from "propylon";

export default definePlugin({ name: "metrics", setup() {} });
