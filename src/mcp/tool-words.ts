/** Hints are written for the command line: an agent has the same options as fields of a tool. */
export function inToolWords(hint: string): string {
  return hint
    .replaceAll('forge-tasks release', 'the tool claim, release')
    .replaceAll(/forge-tasks (?=[a-z])/g, 'the tool ')
    .replaceAll('--check-ac N', 'checkAc')
    .replaceAll('--check-ac', 'checkAc')
    .replaceAll('--force', 'force: true')
    .replaceAll(/--(fix|status|done)\b/g, '$1')
}
