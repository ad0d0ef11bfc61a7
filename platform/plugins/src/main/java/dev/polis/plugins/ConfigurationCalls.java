package dev.polis.plugins;

import dev.polis.base.config.DidYouMean;
import dev.polis.plugins.metatype.ConfigurationKey;
import dev.polis.plugins.metatype.ConfigurationKeys;
import dev.polis.plugins.store.ConfigurationSet;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.swap.SwapEngine;
import dev.polis.wire.plugins.Configured;
import dev.polis.wire.plugins.GetConfigurationRequest;
import dev.polis.wire.plugins.GetConfigurationResponse;
import io.grpc.Status;
import io.grpc.StatusException;
import java.util.Optional;

/** Answers calls about the configurations of organs and the source of each value. */
final class ConfigurationCalls {
  private final SwapEngine engine;

  ConfigurationCalls(SwapEngine engine) {
    this.engine = engine;
  }

  GetConfigurationResponse get(GetConfigurationRequest request) throws StatusException {
    ConfigurationKeys keys = StoreCalls.ask(engine::keys);
    Generation generation = StoreCalls.ask(engine::generation).orElseThrow();
    String name = request.getName().strip();
    GetConfigurationResponse.Builder response =
        GetConfigurationResponse.newBuilder().setGeneration(generation.number());
    for (String pid : keys.pids()) {
      for (ConfigurationKey key : keys.of(pid)) {
        boolean wanted = name.isEmpty() || name.equals(pid) || name.equals(pid + "." + key.id());
        if (wanted) {
          response.addKeys(configured(pid, key, generation.configuration()));
        }
      }
    }
    if (response.getKeysCount() == 0) {
      throw Status.NOT_FOUND
          .withDescription(
              "nothing is configured by \"" + name + "\"" + DidYouMean.among(name, keys.pids()))
          .asException();
    }
    return response.build();
  }

  private Configured configured(String pid, ConfigurationKey key, ConfigurationSet generation) {
    ConfigurationSet.Key name = new ConfigurationSet.Key(pid, key.id());
    Optional<String> given = engine.commandLine().value(name);
    Optional<String> set = generation.value(name);
    String otherwise = given.orElse(key.fallback());
    Configured.Source below =
        given.isPresent()
            ? Configured.Source.SOURCE_COMMAND_LINE
            : Configured.Source.SOURCE_DEFAULT;
    return Configured.newBuilder()
        .setPid(pid)
        .setKey(key.id())
        .setValue(set.orElse(otherwise))
        .setSource(set.isPresent() ? Configured.Source.SOURCE_GENERATION : below)
        .setOtherwise(otherwise)
        .setDescription(key.description())
        .build();
  }
}
