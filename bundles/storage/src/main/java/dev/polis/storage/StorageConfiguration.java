package dev.polis.storage;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** What a person may say about storage. */
@ObjectClassDefinition(id = "dev.polis.storage", name = "Storage")
@interface StorageConfiguration {

  /** {@link #security()} for "the strongest this machine can give". */
  String STRONGEST = "strongest";

  @AttributeDefinition(description = "The state directory; made if it does not exist")
  String root();

  @AttributeDefinition(
      description =
          "Security a new data volume should have if the cluster leaves a choice: strongest, INSECURE, ENCRYPTED or AUTHENTICATED_ENCRYPTED")
  String security() default STRONGEST;

  // etcd's default quota is 2 GiB and a snapshot doubles it; the rest is room for images. The file
  // is sparse.
  @AttributeDefinition(description = "Size of a new encrypted data volume in MiB, at least 512")
  int volumeMebibytes() default 8192;

  @AttributeDefinition(
      description =
          "Partition for the data volume, where the kernel has device-mapper; an image file if empty")
  String device() default "";
}
