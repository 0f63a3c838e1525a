/** Modules are called by what one imports: `@holdfast/lock/Fence`, and not by the place of their source. */
export const load = (app) => {
  app.converter.on("resolveBegin", ({ project }) => {
    for (const module of project.children ?? []) module.name = `@holdfast/${module.name.replace("/src/", "/")}`
  })
}
