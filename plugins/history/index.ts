import { definePlugin } from "propylon";

export default definePlugin({ name: "history", setup() {} });
