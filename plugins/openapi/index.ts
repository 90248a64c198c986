import { definePlugin } from "propylon";

export default definePlugin({ name: "openapi", setup() {} });
