export interface RoomArrow {
  readonly from: string;
  readonly to: string;
  readonly by: string;
}
export function pluginsWithRooms(): string[];
export function filesOf(plugin: string): string[];
export function roomOf(file: string): string;
export function roomsOf(plugin: string): string[];
export function importsOf(file: string): string[];
export function arrowsOf(plugin: string): RoomArrow[];
export function inOrder(plugin: string): string[][] | undefined;
