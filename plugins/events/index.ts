import { definePlugin } from "propylon";

export default definePlugin({ name: "events", setup() {} });
