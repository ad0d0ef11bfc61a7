package dev.polis.storage;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Declares the configuration of the storage organ. */
@ObjectClassDefinition(
    id = "dev.polis.storage",
    name = "Storage",
    description = "Where this node keeps its state, and how its data volume is protected")
@interface StorageConfig {

  /** The state directory. */
  @AttributeDefinition(
      name = "State directory",
      description = "the state directory; the node makes it if it does not exist")
  String root();

  /** The security of a new data volume. */
  @AttributeDefinition(
      name = "Security",
      description =
          "security of a new data volume if the cluster leaves a choice: strongest, insecure,"
              + " encrypted or authenticated-encrypted")
  String security() default "strongest";

  // etcd's default quota is 2 GiB and a snapshot doubles it; the rest is room for images. The file
  // is sparse.
  /** The size of a new data volume. */
  @AttributeDefinition(
      name = "Volume size",
      description = "size of a new encrypted data volume in MiB, at least 512")
  int volume_mebibytes() default 8192;

  /** The partition for the data volume. */
  @AttributeDefinition(
      name = "Device",
      description =
          "partition for the data volume, if the kernel has device-mapper; if empty, the node uses an image file")
  String device() default "";

  /** The TPM. */
  @AttributeDefinition(
      name = "TPM",
      description =
          "the TPM that seals what this node keeps outside of the data volume, in the notation of"
              + " tpm2-tools, such as device:/dev/tpmrm0; if empty, none does")
  String tpm() default "";

  /** The slots for a system. */
  @AttributeDefinition(
      name = "Slots",
      description =
          "folder in which a machine that an image of Polis has booted describes its slots; if"
              + " empty, others maintain the system")
  String slots() default "";
}
