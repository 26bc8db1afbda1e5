/**
 * Has `effect` compile each schema when it is first used, which halves what reading a stored body takes. It has to be
 * imported before anything that uses one. Where code can't be made at run time, schemas are interpreted as ever. Only
 * the server binary does this: it is a switch for the whole process, so in an embedding host it is the host's.
 */
import "effect/schema/SchemaJITCompiler/enable"
