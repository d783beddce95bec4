/** A part of a path has room for 255 bytes, and git and we put something behind it. */
const LONGEST_BYTES = 80

/** The name of a task as a part of a branch and of a path. */
export function nameInGit(task: string): string {
  const name = task.replaceAll(/\.{2,}/g, '.').replace(/\.lock$/i, '-lock')
  return shorten(name).replace(/\.+$/, '') || 'task'
}

function shorten(name: string): string {
  let length = name.length
  while (Buffer.byteLength(name.slice(0, length)) > LONGEST_BYTES) length -= 1
  // Half a letter would not be one.
  return name.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')
}
