package dev.polis.plugins;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Declares the configuration of the swap engine. */
@ObjectClassDefinition(id = "dev.polis.plugins", name = "Plugins")
public @interface PluginsConfig {

  /** Folder of the plugin store, such as STATE/plugins. */
  @AttributeDefinition(description = "Folder of the plugin store; the launcher sets it")
  String store();

  /** Milliseconds for which the whole node has to be healthy before a swap counts. */
  @AttributeDefinition(
      description =
          "Milliseconds for which all organs and roles must be healthy before a swap counts",
      min = "0",
      max = "3600000")
  long healthy_ms() default 3_000;

  /** Milliseconds for which a gate waits until the whole node is healthy. */
  @AttributeDefinition(
      description = "How long a swap waits for everything to be well, in milliseconds",
      min = "100",
      max = "3600000")
  long deadline_ms() default 60_000;

  /** Milliseconds that the activation of a bundle may take. */
  @AttributeDefinition(
      description = "How long the activation of a swapped bundle may take, in milliseconds",
      min = "100",
      max = "3600000")
  long start_ms() default 60_000;

  /** Milliseconds that a bundle may take to stop. */
  @AttributeDefinition(
      description = "How long a swapped bundle may take to stop, in milliseconds",
      min = "100",
      max = "3600000")
  long stop_ms() default 30_000;

  /** Heap that a swap may take in addition. */
  @AttributeDefinition(
      description =
          "How much more may be alive on the heap than before a swap while its successors are judged, in MiB",
      min = "1",
      max = "1000000")
  int heap_growth_mib() default 32;

  /** Memory for classes that a swap may take in addition. */
  @AttributeDefinition(
      description =
          "How much more memory the classes may take than before a swap while its successors are judged, in MiB",
      min = "1",
      max = "1000000")
  int metaspace_growth_mib() default 32;

  /** Threads that a swap may add. */
  @AttributeDefinition(
      description =
          "How many more threads there may be than before a swap while its successors are judged",
      min = "1",
      max = "1000000")
  int threads_growth() default 64;

  /** Organs that work only when their predecessors have ended. */
  @AttributeDefinition(
      description = "Organs that are judged only when their predecessors have ended")
  String[] alone() default {};

  /** The digests of the distribution's plugin manifests. */
  @AttributeDefinition(
      description =
          "Digests of the plugin manifests that came with the platform; the launcher sets it")
  String[] distribution() default {};

  /** The configurations of the command line. */
  @AttributeDefinition(
      description =
          "The configurations of the command line, \"PID key=value\"; the launcher sets it")
  String[] commandline() default {};
}
