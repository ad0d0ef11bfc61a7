package dev.polis.ctl.plugin;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.Rows;
import dev.polis.plugins.manifest.PackageRequirement;
import dev.polis.plugins.manifest.PluginManifest;
import dev.polis.plugins.manifest.Provided;
import java.util.stream.Collectors;

/** Shows the content of a plugin's manifest. */
final class PluginRows {

  private PluginRows() {}

  static JsonObject of(PluginManifest manifest) {
    Rows<PackageRequirement> packages =
        new Rows<PackageRequirement>()
            .field("name", PackageRequirement::name)
            .field("range", PackageRequirement::range)
            .field("optional", PackageRequirement::optional);
    return new Rows<PluginManifest>()
        .field("name", PluginManifest::symbolicName)
        .field("version", PluginManifest::version)
        .field("sha256", each -> each.digest().hex())
        .field("size", PluginManifest::size)
        .field("minimumPlatform", PluginManifest::minimumPlatform)
        .field("provides", PluginManifest::provides)
        .field("packages", each -> packages.json(each.packages()))
        .json(manifest);
  }

  static String provides(PluginManifest manifest) {
    return manifest.provides().stream().map(Provided::toString).collect(Collectors.joining(", "));
  }
}
