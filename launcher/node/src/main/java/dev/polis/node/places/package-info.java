/**
 * Puts file and line into the calls that log, when a distribution is built.
 *
 * <pre>
 *   bundle.jar ──▶ JarRewriter ──▶ ClassRewriter ──▶ bundle.jar
 *
 *   invokeinterface Log.info(format, arguments)
 *       becomes   ldc "Mount.java:83"
 *                 invokestatic LogPlaces.info(log, format, arguments, place)
 * </pre>
 *
 * <p>The place of a leveled entry is otherwise found by a walk up the stack, which costs several
 * times what the rest of the entry costs. All of the machinery is here: sources are written without
 * a thought of it, and code that was not rewritten logs as before, with a walk.
 *
 * <p>Not promised: anything for plugins from outside, which are packed by their authors, and for
 * method references such as {@code log::warning}. Both walk.
 *
 * <p>Another step, {@link dev.polis.node.places.CacheableJars}, rewrites the libraries on the class
 * paths of polisctl and of a node so that their AOT caches take the classes. The signatures that it
 * leaves out protected nothing: a JVM runs an unsigned jar as readily.
 *
 * <p>Why not while compiling? A plugin of the compiler would reach into its internals, and a step
 * of each module's build would have to be built before the modules that it needs. Why not when a
 * class is loaded? It would cost each start, and the AOT cache takes no classes that an agent
 * changed.
 */
package dev.polis.node.places;
