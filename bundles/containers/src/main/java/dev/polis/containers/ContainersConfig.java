package dev.polis.containers;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Declares the configuration of the container runtime. */
@ObjectClassDefinition(
    id = ContainersSettings.PID,
    name = "Containers",
    description = "Runs containerd, and the sandbox in which containers live")
@interface ContainersConfig {

  @AttributeDefinition(
      name = "Programs",
      description =
          "Folder with containerd, its shim, ctr, runc and busybox in bin/, and CNI's programs"
              + " in cni/; if empty, the node has none")
  String programs() default "";

  @AttributeDefinition(
      name = "Registry mirrors",
      description =
          "Mirrors from which containerd pulls images, as REGISTRY=URL, separated by commas:"
              + " docker.io=https://mirror.example; containerd asks the registry itself last")
  String registry_mirrors() default "";

  @AttributeDefinition(
      name = "Restrict OOM scores",
      description =
          "Whether containers keep the OOM score of the node if the kernel forbids a lower one:"
              + " yes, no, or auto, which is yes without CAP_SYS_RESOURCE")
  String restrict_oom() default "auto";

  @AttributeDefinition(
      name = "Image file",
      description =
          "Size in MiB of a sparse ext4 image that holds images and all that Pods write, so that"
              + " they fill it and not the data volume; 0: an image of three quarters of the"
              + " free space, and only if the volume does not support overlays")
  long image_mebibytes() default 0;

  @AttributeDefinition(
      name = "Room",
      description = "MiB that must be free on the data volume before the first start of containerd")
  long least_free_mebibytes() default 512;

  @AttributeDefinition(description = "Seconds that containerd may take to become ready")
  int ready_seconds() default 60;
}
