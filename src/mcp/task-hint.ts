/** Rewrites a hint of forge-tasks in terms of the task tools. `prefix` precedes their names. */
export function translateHint(hint: string, prefix: string): string {
  return hint
    .replaceAll('forge-tasks release', `the tool ${prefix}claim, release`)
    .replaceAll(/forge-tasks (?=[a-z])/g, `the tool ${prefix}`)
    .replaceAll('--check-ac N', 'checkAc')
    .replaceAll('--check-ac', 'checkAc')
    .replaceAll('--remove-dep ID', 'removeDeps')
    .replaceAll('--force', 'force: true')
    .replaceAll(/--(fix|status|done)\b/g, '$1')
}
