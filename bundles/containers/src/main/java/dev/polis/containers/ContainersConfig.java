package dev.polis.containers;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Declares what an operator may set. */
@ObjectClassDefinition(
    id = ContainersSettings.PID,
    name = "Containers",
    description = "Runs containerd, and the sandbox in which containers live")
@interface ContainersConfig {

  @AttributeDefinition(
      name = "Programs",
      description =
          "Folder with containerd, its shim, ctr, runc and busybox in bin/, and CNI's programs in"
              + " cni/; empty: there are none")
  String programs() default "";

  @AttributeDefinition(
      name = "Registry mirrors",
      description =
          "Where images are pulled from instead, as REGISTRY=URL, separated by commas:"
              + " docker.io=https://mirror.example; the registry itself is asked last")
  String registry_mirrors() default "";

  @AttributeDefinition(
      name = "Restrict OOM scores",
      description =
          "Whether containers keep the OOM score of the node where the kernel forbids a lower one:"
              + " yes, no, or auto, which is yes without CAP_SYS_RESOURCE")
  String restrict_oom() default "auto";

  @AttributeDefinition(
      name = "Image file",
      description =
          "MiB of a sparse ext4 image that holds images and all that Pods write, so that they fill it"
              + " and not the data volume; 0: an image only where the volume cannot carry overlays,"
              + " of three quarters of what is free")
  long image_mebibytes() default 0;

  @AttributeDefinition(
      name = "Room",
      description = "MiB that must be free on the data volume before containerd is first started")
  long least_free_mebibytes() default 512;

  @AttributeDefinition(description = "Seconds that containerd may take to become ready")
  int ready_seconds() default 60;
}
